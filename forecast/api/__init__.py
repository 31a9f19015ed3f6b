"""The objects of the front door: quantities, answers, scenarios, and files of results."""
