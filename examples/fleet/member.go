package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// member is one node of a fleet: its machine, and the agent that runs on it. Only one goroutine uses a member.
type member struct {
	name    string
	server  apiserver.Server
	machine *memory.Runtime // runs on while the agent is stopped
	node    *cluster.Node   // nil while the agent is stopped
	cancel  context.CancelFunc
	done    chan error // gets the result of the agent
}

// startAgent runs the agent until stopAgent or until ctx is done. It calls ended after the agent has ended with an error.
func (m *member) startAgent(ctx context.Context, node *cluster.Node, ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	m.node, m.cancel, m.done = node, cancel, make(chan error, 1)
	go func() {
		err := node.Run(ctx)
		m.done <- err
		if err != nil {
			ended()
		}
	}()
}

// stopAgent stops the agent, waits for its end and returns its error. If the agent does not run, it returns nil.
func (m *member) stopAgent() error {
	if m.node == nil {
		return nil
	}
	m.cancel()
	m.node = nil
	return <-m.done
}

// findMember returns the member with this name, or nil.
func (f *fleet) findMember(name string) *member {
	for _, m := range f.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// executeCommand executes a line such as "stop fleet-3", and returns a line about the result.
func (f *fleet) executeCommand(ctx context.Context, line string, ended func()) string {
	words := strings.Fields(line)
	if len(words) != 2 {
		return fmt.Sprintf("%q is no command: expected stop, start or crash, and the name of a node", line)
	}
	m := f.findMember(words[1])
	if m == nil {
		return fmt.Sprintf("there is no node %q: the names are %s to %s", words[1], f.nodeName(0), f.nodeName(f.options.nodes-1))
	}
	switch words[0] {
	case "stop", "crash":
		if err := m.stopAgent(); err != nil {
			return fmt.Sprintf("%s has stopped: %v", m.name, err)
		}
		if words[0] == "stop" {
			return m.name + " has stopped: its containers keep running"
		}
		m.machine.LoseAll()
		return m.name + " has crashed: its containers are gone"
	case "start":
		if m.node != nil {
			return m.name + " runs already"
		}
		node, err := f.newNode(m)
		if err != nil {
			return fmt.Sprintf("%s does not start: %v", m.name, err)
		}
		m.startAgent(ctx, node, ended)
		return m.name + " has started"
	}
	return fmt.Sprintf("%q is no command: expected stop, start or crash", words[0])
}

// readLines sends the lines of a reader until the reader or ctx ends. A read that blocks outlasts ctx.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
