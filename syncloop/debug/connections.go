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

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	open := &countedConn{Conn: c, listener: l}
	for {
		entered, victim, news := l.tryAdd(open)
		if entered {
			return open, nil
		}
		if victim != nil {
			_ = victim.Close()
			continue
		}
		select {
		case <-news:
		case <-l.closed:
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
	}
}

// tryAdd adds a connection if the limit allows it. Otherwise it returns a connection that must be
// closed first, or a channel that is closed when there may be room.
func (l *limitedListener) tryAdd(c *countedConn) (entered bool, victim *countedConn, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ended {
		return false, nil, nil // The listener is closed.
	}
	if len(l.mu.open) < l.maxOpen {
		l.mu.open[c] = true
		return true, nil, nil
	}
	return false, l.connectionToCloseLocked(), l.mu.news
}

// connectionToCloseLocked returns a connection of the lowest priority, at random, so that a client with
// many connections cannot make the listener close connections of others. It returns nil if every connection
// has a running request.
func (l *limitedListener) connectionToCloseLocked() (victim *countedConn) {
	for c := range l.mu.open {
		if c.priority < useful && (victim == nil || c.priority < victim.priority) {
			victim = c
		}
	}
	return victim
}

// closeAll closes all connections, and makes Accept fail from then on.
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

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.update(func() { delete(c.listener.mu.open, c) })
	return c.Conn.Close()
}

// Unknown implements respond.Peer.
func (c *countedConn) Unknown() { c.update(func() { c.priority = unaccepted }) }

// Accepted implements respond.Peer.
func (c *countedConn) Accepted() { c.update(func() { c.priority = useful }) }

// update calls change with the lock held, and wakes waiting connections, because there may be room.
func (c *countedConn) update(change func()) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	change()
	close(c.listener.mu.news)
	c.listener.mu.news = make(chan struct{})
}

// withConnection is http.Server.ConnContext. It stores the connection in the context as its
// respond.Peer.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return respond.WithPeer(ctx, c.(*countedConn)) // The listener returns no other type.
}

// trackRequest records that a request of the connection is running, until done is called. A handler
// that authenticates clients can lower the priority of the connection; any other handler accepts all
// clients.
func trackRequest(ctx context.Context) (done func()) {
	c := respond.PeerOf(ctx).(*countedConn) // withConnection has stored it.
	c.Accepted()
	return func() { c.update(func() { c.priority = min(c.priority, idle) }) }
}
