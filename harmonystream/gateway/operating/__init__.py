"""What an operator needs: who may ask how much, what is stored, counted, logged and shown, and the processes."""
