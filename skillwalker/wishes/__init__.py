"""What somebody would type who needs what a description describes, read from the description's own words.

No dictionary, no model: English forms are turned into each other, and what cannot be turned gives nothing.
"""
