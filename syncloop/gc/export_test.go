package gc

// Known are the IDs of the images that are remembered.
func (i *Images) Known() (ids []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id := range i.mu.known {
		ids = append(ids, id)
	}
	return ids
}
