package cri

import (
	"fmt"

	"github.com/podkeel/podkeel/runtime"
)

// longestPath is how long a path is at most for a kernel. A runtime that is given
// a longer one fails, if it is well: runc says what failed in so many words that
// nobody reads them to the end, and then neither it nor whoever waits for it ever
// comes back, so that the container can not even be stopped (F14).
const longestPath = 4096

// runnable is nil for a command that could be one.
func runnable(verb string, command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("cri: %s: there is no command to run", verb)
	}
	return short(verb, "the name of the program", command[0])
}

// short is nil for what could be a path.
func short(verb, what, path string) error {
	if len(path) > longestPath {
		return fmt.Errorf("cri: %s: %s has %d bytes, and a path at most %d", verb, what, len(path), longestPath)
	}
	return nil
}

// pathsFit is nil if all that a container is told to find could be found. Its
// arguments are its own business, also the first where the image names the program.
func pathsFit(verb string, req *runtime.CreateContainerRequest) error {
	if len(req.Command) > 0 {
		if err := runnable(verb, req.Command); err != nil {
			return err
		}
	}
	for i := range req.Mounts {
		if err := short(verb, "the place of a mount", req.Mounts[i].ContainerPath); err != nil {
			return err
		}
	}
	return short(verb, "the working directory", req.WorkingDir)
}
