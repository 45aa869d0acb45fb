"""Ends the program that imports it."""

import sys

sys.exit("wrong platform")
