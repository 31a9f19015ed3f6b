"""What is finished or imported at its first use, since most commands never use it."""
