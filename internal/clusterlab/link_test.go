package clusterlab_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// link is a network between a client and a server that is a round trip away.
type link struct {
	listener net.Listener
	server   string
	oneWay   time.Duration
	bytes    atomic.Int64
	all      sync.WaitGroup
}

// startLink starts a link that runs until the end of the test.
func startLink(t *testing.T, server string, roundTrip time.Duration) *link {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &link{listener: listener, server: server, oneWay: roundTrip / 2}
	p.all.Go(p.acceptConnections)
	t.Cleanup(func() {
		_ = listener.Close() // It ends serve.
		p.all.Wait()
	})
	return p
}

func (p *link) acceptConnections() {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // It ends its copies.
		}
	}()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close() // The client hears it.
			continue
		}
		open = append(open, client, server)
		p.all.Go(func() { p.copyDelayed(client, server) })
		p.all.Go(func() { p.copyDelayed(server, client) })
	}
}

// copyDelayed copies from one connection to the other, and delays each piece by the latency of one direction.
func (p *link) copyDelayed(to, from net.Conn) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1<<16)
	p.all.Go(func() {
		defer to.Close()
		for one := range pieces {
			time.Sleep(time.Until(one.due))
			if _, err := to.Write(one.bytes); err != nil {
				_ = from.Close() // It ends the reads below.
			}
		}
	})
	defer close(pieces)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if n > 0 {
			p.bytes.Add(int64(n))
			pieces <- piece{b[:n], time.Now().Add(p.oneWay)}
		}
		if err != nil {
			return
		}
	}
}
