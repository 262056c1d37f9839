"""The exchange with Label Studio: tasks for it, and labels from what it exports."""
