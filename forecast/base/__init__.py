"""What everything stands on: files, dates, random streams, distributions, text, netCDF, limits and permissions."""
