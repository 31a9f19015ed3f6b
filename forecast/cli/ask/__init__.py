"""Commands that answer: scenarios and claims."""
