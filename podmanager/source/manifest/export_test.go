package manifest

import "github.com/fsnotify/fsnotify"

// Load is how the source reads a file: Decode, and then some.
var Load = load

// OpenFile opens what may have become a pipe.
var OpenFile = openFile

// News is what a test puts in the place of the system's watch.
type News struct {
	Events chan fsnotify.Event
	Errors chan error
	Err    error    // the system grants no watch
	Calls  []string // "add" and "remove", with the directory
}

// WatchWith makes the source get its news from n.
func (s *Source) WatchWith(n *News) {
	s.newAnnouncer = func() (*announcer, error) {
		if n.Err != nil {
			return nil, n.Err
		}
		call := func(what string) func(string) error {
			return func(dir string) error {
				n.Calls = append(n.Calls, what+" "+dir)
				return nil
			}
		}
		return &announcer{
			add: call("add"), remove: call("remove"), close: func() error { return nil }, events: n.Events, errors: n.Errors,
		}, nil
	}
}
