package manifest

import (
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// changedFiles says which files may have changed since the last scan. The zero value is no file.
type changedFiles struct {
	// all means that each file may have changed: events were lost, or events do not name the changed files.
	all bool
	// names are the names of the changed files in the directory. They are nil if all is true.
	names map[string]bool
}

// maxChangedNames bounds changedFiles.names. A scan after more changes reads all files.
const maxChangedNames = 1000

// addName adds the name of a changed file. If there are maxChangedNames other names, it adds all files.
func (c *changedFiles) addName(name string) {
	switch {
	case c.all || c.names[name]:
	case len(c.names) >= maxChangedNames:
		c.addAll()
	case c.names == nil:
		c.names = map[string]bool{name: true}
	default:
		c.names[name] = true
	}
}

// addAll adds all files.
func (c *changedFiles) addAll() { *c = changedFiles{all: true} }

// selectPaths returns the listed paths that a scan must read, in the same order: the paths of the changed files, and the
// paths for which needsRead returns true.
func (c *changedFiles) selectPaths(listed []string, needsRead func(path string) bool) (selected []string) {
	if c.all {
		return listed
	}
	for _, path := range listed {
		if c.names[filepath.Base(path)] || needsRead(path) {
			selected = append(selected, path)
		}
	}
	return selected
}

// eventScope is what an event of the watch may have changed.
type eventScope uint8

const (
	// noManifest: no manifest.
	noManifest eventScope = iota
	// oneFile: only the file that the event names.
	oneFile
	// allFiles: files that the event does not name.
	allFiles
	// watchedDirectory: the watched directory itself was moved, removed, created or changed, the path leads to another
	// directory, or the watched directory above it was changed.
	watchedDirectory
)

// classifyEvent returns what an event may have changed. It returns oneFile only for a watcher whose events name each
// changed file.
func (w *pathWatch) classifyEvent(e fsnotify.Event) eventScope {
	above, name := w.state.parent, filepath.Base(e.Name)
	isVolumeLink := strings.HasPrefix(name, "..") // The kubelet switches a ConfigMap volume by such a link.
	switch {
	case e.Name == w.dir, above != "" && e.Name == above:
		return watchedDirectory
	case above != "" && above != w.dir && filepath.Dir(e.Name) == above:
		if name != w.state.name && !isVolumeLink {
			return noManifest // Another file of that directory.
		}
		return watchedDirectory
	case isVolumeLink:
		return allFiles
	case w.fileName != "" && name != w.fileName, w.fileName == "" && isIgnoredName(name):
		return noManifest
	case w.watcher == nil || !w.watcher.namesFiles || filepath.Dir(e.Name) != w.dir:
		return allFiles
	}
	return oneFile
}
