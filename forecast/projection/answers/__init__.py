"""What is asked of worlds beside dates of conditions, and how worlds of rivals are pooled."""
