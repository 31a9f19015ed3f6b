"""What was observed: columns, groups of rows, units, and many data sets side by side."""
