package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// standIns are the names under which this program stands in for others.
var standIns = []string{"sudo", "systemctl", "systemd-run", "journalctl"}

// socketVariable is the environment variable with the socket of the units.
const socketVariable = "NODESUITE_SOCKET"

// standInFor reports whether the program stands in for a program of that name.
func standInFor(name string) bool {
	return slices.Contains(standIns, name) && os.Getenv(socketVariable) != ""
}

// runStandIn does what a program of that name would do, and returns the exit code. There is no journal.
func runStandIn(name string, args []string) int {
	err := error(nil)
	switch name {
	case "sudo":
		err = runAsRoot(args)
	case "journalctl":
	default:
		err = sendUnitRequest(unitRequest{Program: name, Args: args})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runAsRoot replaces this process by a command. The user is root already.
func runAsRoot(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("sudo: no command")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

// sendUnitRequest sends a request to the units, and prints the response.
func sendUnitRequest(r unitRequest) (err error) {
	if r.Dir, err = os.Getwd(); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", os.Getenv(socketVariable))
	}}}
	response, err := client.Post("http://units/", "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Program, body)
	} else if err == nil {
		_, err = os.Stdout.Write(body)
	}
	return err
}
