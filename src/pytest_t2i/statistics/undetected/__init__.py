"""What undetected images could change."""
