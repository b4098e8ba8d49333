package lifecycle

// name looks an enum value up in the list of its names. Where values begin
// with 1, 0 has none.
func name(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "unknown"
}
