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
	// maxSocketPath is the maximum length of a socket's path in bytes, by the smallest sockaddr_un.
	maxSocketPath = 103
	// socketDialTimeout is how long another agent that listens on the path may take to accept.
	socketDialTimeout = time.Second
)

// systemSocket returns the default socket of an agent that runs as root.
func systemSocket() string {
	dir := "/run"
	if goruntime.GOOS != "linux" {
		dir = "/var/run"
	}
	return filepath.Join(dir, "podkeel", socketName)
}

// defaultSocket returns the default socket path for an agent of this user: in RUNTIME_DIRECTORY (which systemd
// sets), in /run/podkeel for root, in XDG_RUNTIME_DIR, or in the directory for temporary files. It uses the
// first of these that applies.
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

// usableUserSocketOrRootSocket returns the path of the socket to which a command connects. It first looks for
// the user's socket, in a directory that no other user may write to, and then for the socket of root's agent.
// If neither exists, it returns the path of the user's socket.
func usableUserSocketOrRootSocket(env func(string) string, user int) string {
	own := defaultSocket(env, user)
	if _, err := os.Lstat(own); !errors.Is(err, fs.ErrNotExist) && checkSocketDirPrivate(own) == nil {
		return own
	}
	if _, err := os.Lstat(systemSocket()); !errors.Is(err, fs.ErrNotExist) {
		return systemSocket() // If the user may not read its directory, the dial reports that.
	}
	return own
}

// parseSocketAddress returns the path in an address of --server, without unix:// in front, and true if the
// address is a path. It returns false for a host and port.
func parseSocketAddress(address string) (path string, isSocket bool) {
	path, scheme := strings.CutPrefix(address, "unix://")
	return path, scheme || strings.ContainsRune(address, filepath.Separator)
}

// socket listens on a socket to which only its user can connect.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
}

var errSocketTaken = errors.New("another agent listens there")

// listenSocket listens on a Unix socket of mode 0600. It replaces the socket of an agent that has exited, but
// no other file. It creates the socket in a private directory and renames it to its path when the mode is set,
// so that other users can never connect. If several agents do this at once, one gets the path and the others
// get errSocketTaken.
func listenSocket(path string) (*socket, error) {
	if err := checkSocketFree(path); err != nil {
		return nil, err
	}
	dir, claim, err := createAndLockSocketDir(path)
	if err != nil {
		return nil, err
	}
	temporary := filepath.Join(dir, "s")
	defer func() {
		_ = os.Remove(temporary) // Left over after a failure.
		_ = os.Remove(dir)
		_ = claim.Close() // Last, so that no other agent uses the directory before.
	}()
	if err := checkSocketFree(path); err != nil { // Another agent may have created it meanwhile.
		return nil, err
	}
	_ = os.Remove(temporary) // Left over from an agent that was killed.
	if longest := max(len(temporary), len(path)); longest > maxSocketPath {
		return nil, fmt.Errorf("the path is %d bytes too long for a socket", longest-maxSocketPath)
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
		_ = l.Close() // No client has connected to it.
		return nil, err
	}
	return s, nil
}

// createAndLockSocketDir creates a directory beside the path of a socket, which only this user can enter. It
// locks the directory until the caller closes lock, so that two agents cannot replace the same socket at once.
// It returns errSocketTaken if another agent holds the lock.
func createAndLockSocketDir(path string) (dir string, lock *os.File, err error) {
	name := fnv.New32a()
	_, _ = name.Write([]byte(filepath.Base(path))) // Writing to a hash does not fail.
	dir = filepath.Join(filepath.Dir(path), fmt.Sprintf(".podkeel-%08x", name.Sum32()))
	const attempts = 10 // The agent that holds the lock removes the directory.
	for range attempts {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, causeOfPathError(err)
		}
		if err := checkSocketDirPrivate(filepath.Join(dir, "s")); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", nil, err
		}
		lock, err := osfile.LockDir(dir)
		switch {
		case errors.Is(err, osfile.ErrLocked):
			return "", nil, errSocketTaken
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", nil, causeOfPathError(err)
		}
		claimed, err := lock.Stat()
		if now, look := os.Lstat(dir); err == nil && look == nil && os.SameFile(claimed, now) {
			return dir, lock, nil
		}
		_ = lock.Close() // The directory was removed before it was locked.
	}
	return "", nil, errSocketTaken
}

// checkSocketFree returns an error if the path is a file other than a socket, or a socket to which a client can
// connect. It returns nil if the path does not exist or no process listens on the socket.
func checkSocketFree(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return causeOfPathError(err)
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("the file is not a socket")
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
		_ = os.Remove(s.path) // A leftover socket refuses connections.
	}
	return s.Listener.Close()
}

// Addr returns the path of the socket at which clients connect. The listener itself has a temporary path.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// createPrivateSocketDir creates the directory of a default socket. It returns an error if a user other than
// root owns the directory or may write to it, because any user may have created a directory in /tmp.
func createPrivateSocketDir(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return causeOfPathError(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return causeOfPathError(err)
	}
	return checkSocketDirPrivate(path)
}

// checkSocketDirPrivate returns an error if the socket's directory does not exist, or if a user other than this
// one and root may write to it.
func checkSocketDirPrivate(path string) error {
	info, err := os.Lstat(filepath.Dir(path))
	switch {
	case err != nil:
		return causeOfPathError(err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", filepath.Dir(path))
	case !isWritableOnlyByUserOrRoot(info):
		return fmt.Errorf("another user may write to %s", filepath.Dir(path))
	}
	return nil
}

// causeOfPathError returns the cause in a PathError, without the path, because the caller names it. It returns
// any other error unchanged.
func causeOfPathError(err error) error {
	if cause := (*os.PathError)(nil); errors.As(err, &cause) {
		return cause.Err
	}
	return err
}
