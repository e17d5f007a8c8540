"""Frame of every page: title, navigation, author, sign-in."""
