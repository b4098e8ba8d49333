package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// units stands in for systemd. It has one unit, the node.
type units struct {
	log   string
	start func(args []string, dir string) (*process, error) // starts the node with the arguments of a kubelet

	mu   sync.Mutex
	name string // "" until the suite has created the unit
	args []string
	dir  string
	node *process // nil, or it may have exited
}

// unitRequest is a request of a stand-in for systemctl or systemd-run.
type unitRequest struct {
	Program string
	Args    []string
	Dir     string // of the process that has requested it
}

// serveRequests starts to serve requests on a socket, until the process exits.
func (u *units) serveRequests(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, u) }()
	return nil
}

// ServeHTTP handles one request. The response is what the program prints, with status 500 if it fails.
func (u *units) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var r unitRequest
	if err := json.NewDecoder(request.Body).Decode(&r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := u.executeCommand(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, text)
}

// executeCommand does what systemd-run or systemctl would do, and returns the output.
func (u *units) executeCommand(r unitRequest) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Program == "systemd-run" {
		if len(r.Args) == 1 && r.Args[0] == "--version" {
			return "systemd 252\n", nil
		}
		return "", u.createUnitAndStartNode(r)
	}
	if len(r.Args) == 0 {
		return "", errors.New("systemctl: no command")
	}
	switch r.Args[0] {
	case "list-units":
		if u.name == "" || len(r.Args) > 2 && !u.isRunning() {
			return "", nil
		}
		return u.name + ".service loaded active running\n", nil
	case "reset-failed":
		return "", nil
	case "kill", "stop":
		u.stopNode()
		return "", nil
	case "restart", "start":
		return "", u.restartNode()
	}
	return "", fmt.Errorf("systemctl: %s is not supported", strings.Join(r.Args, " "))
}

// createUnitAndStartNode creates the unit from the arguments of systemd-run, and starts the node. The arguments of the kubelet follow
// its path.
func (u *units) createUnitAndStartNode(r unitRequest) error {
	for i, arg := range r.Args {
		if name, ok := strings.CutPrefix(arg, "--unit="); ok {
			u.name = strings.TrimSuffix(name, ".service")
		}
		if filepath.Base(arg) == "kubelet" && filepath.IsAbs(arg) {
			u.args, u.dir = r.Args[i+1:], r.Dir
			return u.restartNode()
		}
	}
	return fmt.Errorf("systemd-run: no kubelet in %s", strings.Join(r.Args, " "))
}

func (u *units) isRunning() bool { return u.node != nil && u.node.isRunning() }

// stopNode terminates the node and waits until it has exited.
func (u *units) stopNode() {
	if u.node != nil {
		u.node.signalAndWait(syscall.SIGTERM)
	}
}

// restartNode stops the node, and starts it with the arguments of the unit.
func (u *units) restartNode() (err error) {
	u.stopNode()
	u.node, err = u.start(u.args, u.dir)
	return err
}

// writeStandIns makes a directory with stand-ins for sudo and for the programs of systemd.
func writeStandIns(dir, self string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range standIns {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
