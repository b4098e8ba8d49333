package gc

// Known returns the IDs of the images with a history.
func (i *Images) Known() (ids []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id := range i.mu.known {
		ids = append(ids, id)
	}
	return ids
}
