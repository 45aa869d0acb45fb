"""What is wrong with evals although they are valid: tests that measure less than they seem to."""
