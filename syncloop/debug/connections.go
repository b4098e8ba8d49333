package debug

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// limitedListener limits the number of open connections. A further connection is accepted and waits
// until another one is closed. If a connection has no running request, the listener closes it at once,
// so that idle connections cannot block other clients.
type limitedListener struct {
	net.Listener
	maxOpen int
	closed  chan struct{}
	once    sync.Once
	mu      struct {
		sync.Mutex
		open  map[*countedConn]bool
		ended bool
		news  chan struct{} // closed when a connection may be added
	}
}

func newLimitedListener(l net.Listener, maxOpen int) *limitedListener {
	limited := &limitedListener{Listener: l, maxOpen: maxOpen, closed: make(chan struct{})}
	limited.mu.open, limited.mu.news = map[*countedConn]bool{}, make(chan struct{})
	return limited
}

// Accept implements net.Listener. At the limit it closes a connection without a running request in favour of
// the new one. If every connection has a running request, it waits for one to finish.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	open := &countedConn{Conn: c, listener: l}
	for {
		added, victim, roomChanged := l.addOrPickVictim(open)
		if added {
			return open, nil
		}
		if victim != nil {
			_ = victim.Close()
			continue
		}
		select {
		case <-roomChanged:
		case <-l.closed:
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
	}
}

// addOrPickVictim adds a connection if fewer than maxOpen are open. If not, it returns an open connection
// without a running request, which the caller must close first, or nil if all have one; roomChanged is closed
// when the caller should try again. After the listener is closed it returns only false and nils.
func (l *limitedListener) addOrPickVictim(c *countedConn) (added bool, victim *countedConn, roomChanged <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ended {
		return false, nil, nil // The listener is closed.
	}
	if len(l.mu.open) < l.maxOpen {
		l.mu.open[c] = true
		return true, nil, nil
	}
	return false, l.pickVictimLocked(), l.mu.news
}

// pickVictimLocked returns an open connection of the lowest priority, or nil if every connection has a running
// request of an accepted client. Among equal priorities it chooses at random, so that a client with many
// connections cannot make the listener close only connections of other clients.
func (l *limitedListener) pickVictimLocked() (victim *countedConn) {
	for c := range l.mu.open {
		if c.priority < useful && (victim == nil || c.priority < victim.priority) {
			victim = c
		}
	}
	return victim
}

// closeAll closes the listener and all its connections. Accept fails from then on.
func (l *limitedListener) closeAll() {
	l.mu.Lock()
	l.mu.ended = true
	open := slices.Collect(maps.Keys(l.mu.open))
	l.mu.Unlock()
	_ = l.Close() // This also ends an Accept that waits.
	for _, c := range open {
		_ = c.Close()
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// priority is the priority of a connection when another one has to be closed.
type priority int

const (
	unaccepted priority = iota // the handler has not accepted the client
	idle                       // the handler has accepted the client, and no request is running
	useful                     // a request is running
)

// countedConn is a connection of a limitedListener, whose lock guards priority.
type countedConn struct {
	net.Conn
	listener *limitedListener
	priority priority
}

// Close implements net.Conn. It closes the connection and removes it from the open connections of the listener,
// which wakes a waiting Accept.
func (c *countedConn) Close() error {
	defer c.changeAndWakeAccept(func() { delete(c.listener.mu.open, c) })
	return c.Conn.Close()
}

// Unknown implements respond.Peer. The listener may close the connection at the limit, because the client is
// not authenticated yet.
func (c *countedConn) Unknown() { c.changeAndWakeAccept(func() { c.priority = unaccepted }) }

// Accepted implements respond.Peer. The listener does not close the connection at the limit while its request
// runs.
func (c *countedConn) Accepted() { c.changeAndWakeAccept(func() { c.priority = useful }) }

// changeAndWakeAccept calls change with the lock of the listener held. It then wakes a waiting Accept, because
// there may be room for its connection.
func (c *countedConn) changeAndWakeAccept(change func()) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	change()
	close(c.listener.mu.news)
	c.listener.mu.news = make(chan struct{})
}

// withPeerConnection is http.Server.ConnContext. It returns a context with the connection, so that handlers can
// set its priority as a respond.Peer.
func withPeerConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return respond.WithPeer(ctx, c.(*countedConn)) // The listener returns no other type.
}

// raisePriorityForRequest gives the connection of a request the highest priority, so that the listener does not
// close it at its limit. done lowers the priority to the one of an idle connection. A handler that
// authenticates clients can lower it earlier.
func raisePriorityForRequest(ctx context.Context) (done func()) {
	c := respond.PeerOf(ctx).(*countedConn) // withPeerConnection has stored it.
	c.Accepted()
	return func() { c.changeAndWakeAccept(func() { c.priority = min(c.priority, idle) }) }
}
