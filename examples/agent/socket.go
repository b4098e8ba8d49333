package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"github.com/podkeel/podkeel/internal/osfile"
)

const (
	// socketName is the name of the socket in its directory.
	socketName = "agent.sock"
	// longestSocket is the longest path of a socket in bytes, by the smallest sockaddr_un.
	longestSocket = 103
	// socketDialTimeout is how long an agent that listens already may take to accept.
	socketDialTimeout = time.Second
)

// systemSocket is the default socket of an agent of root.
func systemSocket() string {
	dir := "/run"
	if goruntime.GOOS != "linux" {
		dir = "/var/run"
	}
	return filepath.Join(dir, "podkeel", socketName)
}

// defaultSocket returns the path of the socket of an agent of a user: in the directory that
// systemd has made for the service (RUNTIME_DIRECTORY), in /run/podkeel for root, in the user's
// XDG_RUNTIME_DIR, or in a directory of the user's below the one for temporary files.
func defaultSocket(env func(string) string, user int) string {
	dir, _, _ := strings.Cut(env("RUNTIME_DIRECTORY"), ":")
	switch own := env("XDG_RUNTIME_DIR"); {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, socketName)
	case user == 0:
		return systemSocket()
	case filepath.IsAbs(own):
		return filepath.Join(own, "podkeel", socketName)
	}
	return filepath.Join(os.TempDir(), "podkeel-"+strconv.Itoa(user), socketName)
}

// findSocket returns the socket that a command of a user asks: the user's own, or the system's if
// the user has none. A directory that another user has made is not the user's own.
func findSocket(env func(string) string, user int) string {
	own := defaultSocket(env, user)
	if _, err := os.Lstat(own); !errors.Is(err, fs.ErrNotExist) && checkSocketDir(own) == nil {
		return own
	}
	if _, err := os.Lstat(systemSocket()); !errors.Is(err, fs.ErrNotExist) {
		return systemSocket() // Without the right to look for it the dial says so.
	}
	return own
}

// socketPath returns the path that an address of --server names, or false for a host and port.
func socketPath(address string) (path string, is bool) {
	path, scheme := strings.CutPrefix(address, "unix://")
	return path, scheme || strings.ContainsRune(address, filepath.Separator)
}

// socket is a listener on a socket that only its user can connect to.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
}

var errSocketTaken = errors.New("another agent listens there")

// listenSocket listens on a socket of mode 0600. It replaces the socket of an agent that has
// exited, and no other file. The socket is made in a directory that only its user can enter, and
// moved to its path with its mode: at no time can another user connect. Of several agents that do
// this at once, one gets the path and the others errSocketTaken.
func listenSocket(path string) (*socket, error) {
	if err := checkSocketFree(path); err != nil {
		return nil, err
	}
	dir, claim, err := claimSocket(path)
	if err != nil {
		return nil, err
	}
	temporary := filepath.Join(dir, "s")
	defer func() {
		_ = os.Remove(temporary) // After a failure.
		_ = os.Remove(dir)
		_ = claim.Close() // Comes last: until now no other agent uses the directory.
	}()
	if err := checkSocketFree(path); err != nil { // Another agent may have made it meanwhile.
		return nil, err
	}
	_ = os.Remove(temporary) // Of an agent that was killed.
	if longest := max(len(temporary), len(path)); longest > longestSocket {
		return nil, fmt.Errorf("the path is %d bytes too long for a socket", longest-longestSocket)
	}
	l, err := net.Listen("unix", temporary)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &socket{Listener: l, path: path}
	err = os.Chmod(temporary, 0o600)
	if err == nil {
		s.file, err = os.Lstat(temporary)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = l.Close() // No client knows it.
		return nil, err
	}
	return s, nil
}

// claimSocket makes a directory beside the path of a socket, which only this user can enter, and
// claims it until the file is closed: no two agents replace one socket at once. errSocketTaken:
// another agent is about to listen there.
func claimSocket(path string) (dir string, claim *os.File, err error) {
	name := fnv.New32a()
	_, _ = name.Write([]byte(filepath.Base(path))) // It never fails.
	dir = filepath.Join(filepath.Dir(path), fmt.Sprintf(".podkeel-%08x", name.Sum32()))
	const attempts = 10 // The agent that has the directory removes it.
	for range attempts {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, withoutPath(err)
		}
		if err := checkSocketDir(filepath.Join(dir, "s")); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", nil, err
		}
		claim, err := osfile.LockDir(dir)
		switch {
		case errors.Is(err, osfile.ErrLocked):
			return "", nil, errSocketTaken
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", nil, withoutPath(err)
		}
		claimed, err := claim.Stat()
		if now, look := os.Lstat(dir); err == nil && look == nil && os.SameFile(claimed, now) {
			return dir, claim, nil
		}
		_ = claim.Close() // It was removed before it was claimed.
	}
	return "", nil, errSocketTaken
}

// checkSocketFree returns an error if a path has a file that is no socket, or the socket of a
// process that accepts.
func checkSocketFree(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return withoutPath(err)
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("the file is no socket")
	}
	c, err := net.DialTimeout("unix", path, socketDialTimeout)
	if err == nil {
		_ = c.Close()
	}
	if err == nil || !refusesConnections(err) {
		return errSocketTaken
	}
	return nil
}

// Close stops listening and removes the socket, unless a later agent has replaced it.
func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		_ = os.Remove(s.path) // Left behind, it refuses connections.
	}
	return s.Listener.Close()
}

// Addr returns the address with the path at which clients find the socket.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// makeSocketDir makes the directory of a default socket. It returns an error if another user owns
// the directory or may write to it, as anybody may make one below /tmp.
func makeSocketDir(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return withoutPath(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return withoutPath(err)
	}
	return checkSocketDir(path)
}

// checkSocketDir returns an error if another user may have put the socket there.
func checkSocketDir(path string) error {
	info, err := os.Lstat(filepath.Dir(path))
	switch {
	case err != nil:
		return withoutPath(err)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", filepath.Dir(path))
	case !isPrivate(info):
		return fmt.Errorf("another user may write to %s", filepath.Dir(path))
	}
	return nil
}

// withoutPath leaves out the path of an error, which the caller names.
func withoutPath(err error) error {
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return cause.Err
	}
	return err
}
