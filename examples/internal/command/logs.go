package command

import (
	"errors"
	"path/filepath"

	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/node"
)

// recordsDir is the directory in the state directory with the records of the log directories that a node has created.
const recordsDir = "log-records"

// Logs holds the flags for the directories of container logs.
type Logs struct {
	// Dir is the directory of the logs. Empty is /var/log/pods, which other programs share. Any other directory belongs
	// to the node alone.
	Dir string
	// Links is the directory of the links to the logs. Empty is /var/log/containers if Dir is empty, and otherwise
	// none. "-" is none.
	Links string
}

// SetDir sets the directory of the logs.
func (l *Logs) SetDir(path string) error { return storeAbsolutePath(&l.Dir, path) }

// SetLinks sets the directory of the links; an empty path disables the links.
func (l *Logs) SetLinks(path string) error {
	if path == "" {
		l.Links = "-"
		return nil
	}
	return storeAbsolutePath(&l.Links, path)
}

// storeAbsolutePath stores the path. It returns an error if the path is not absolute.
func storeAbsolutePath(to *string, path string) error {
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

// LinkRoot returns the directory of the links; empty if there are none.
func (l Logs) LinkRoot() string {
	switch {
	case l.Links == "-":
		return ""
	case l.Links == "" && l.Root() == logfiles.DefaultRoot:
		return logfiles.DefaultLinks
	}
	return l.Links
}

// Configure sets the log directories of a node. The state directory contains the records of the files that the node
// created in a shared directory. Logs in the old directories, which earlier versions used, stay readable and are
// removed with their pods.
func (l Logs) Configure(c *node.Config, stateDir string, oldRoot, oldLinks string) {
	c.Logs.Root, c.Logs.Links = l.Root(), l.LinkRoot()
	if c.Logs.Root == logfiles.DefaultRoot {
		c.Logs.Records = filepath.Join(stateDir, recordsDir)
	}
	c.Logs.OldRoots = []string{oldRoot}
	if oldLinks != "" {
		c.Logs.OldLinks = []string{oldLinks}
	}
}
