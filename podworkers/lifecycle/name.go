package lifecycle

// name looks an enum value up in the list of its names.
func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
