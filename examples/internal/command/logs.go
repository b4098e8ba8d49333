package command

import (
	"errors"
	"path/filepath"

	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/node"
)

// recordsDir has the records of the log directories that a node has made, in its state directory.
const recordsDir = "log-records"

// Logs are the flags that say where the runtime writes the logs of containers.
type Logs struct {
	// Dir is the directory of the logs. Empty is /var/log/pods, which other programs share; any
	// other directory is for the node alone.
	Dir string
	// Links is the directory of the links to them. Empty is /var/log/containers beside /var/log/pods,
	// and else none. "-" is none.
	Links string
}

// SetDir sets the directory of the logs.
func (l *Logs) SetDir(path string) error { return setAbsolute(&l.Dir, path) }

// SetLinks sets the directory of the links; an empty path is for none.
func (l *Logs) SetLinks(path string) error {
	if path == "" {
		l.Links = "-"
		return nil
	}
	return setAbsolute(&l.Links, path)
}

// setAbsolute wants an absolute path.
func setAbsolute(to *string, path string) error {
	if *to = path; !filepath.IsAbs(path) {
		return errors.New("expected an absolute path")
	}
	return nil
}

// Root returns the directory of the logs.
func (l Logs) Root() string {
	if l.Dir == "" {
		return logfiles.DefaultRoot
	}
	return filepath.Clean(l.Dir)
}

// LinkRoot returns the directory of the links; empty is none.
func (l Logs) LinkRoot() string {
	switch {
	case l.Links == "-":
		return ""
	case l.Links == "" && l.Root() == logfiles.DefaultRoot:
		return logfiles.DefaultLinks
	}
	return l.Links
}

// Place sets where a node has its logs. The state directory has the records of what the node made in a
// shared directory. The node had its logs and links in the old directories before: logs stay readable
// there, and are removed with their pods.
func (l Logs) Place(c *node.Config, stateDir string, oldRoot, oldLinks string) {
	c.Logs.Root, c.Logs.Links = l.Root(), l.LinkRoot()
	if c.Logs.Root == logfiles.DefaultRoot {
		c.Logs.Records = filepath.Join(stateDir, recordsDir)
	}
	c.Logs.OldRoots = []string{oldRoot}
	if oldLinks != "" {
		c.Logs.OldLinks = []string{oldLinks}
	}
}
