"""What people hold in their hands, over all the rooms below: quantities, answers, and what was saved."""
