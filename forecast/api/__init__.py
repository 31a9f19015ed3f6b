"""What people hold in their hands, over all the rooms below: so far, what was saved."""
