"""What is done to paths: functions over time, limits, changes."""
