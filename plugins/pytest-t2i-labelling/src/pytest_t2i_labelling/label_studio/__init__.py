"""Exchange with Label Studio: tasks to import there, and labels from its exports."""
