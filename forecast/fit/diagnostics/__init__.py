"""What a fit can and cannot know."""
