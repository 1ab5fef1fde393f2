"""What an operator needs: keys and limits, stored responses, metrics, logs, the inspector, and the processes."""
