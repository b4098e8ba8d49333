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

// limitedListener is a listener with a bound on the connections that are open at once. One more is
// accepted and waits until another is closed. One over which nothing is being answered is
// closed for it at once: or whoever leaves connections idle would keep all others out.
type limitedListener struct {
	net.Listener
	maxOpen int
	closed  chan struct{}
	once    sync.Once
	mu      struct {
		sync.Mutex
		open  map[*countedConn]bool
		ended bool
		news  chan struct{} // closed when there may be room
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

// tryAdd counts a connection if there is room. If not it returns the one that is to be closed
// for it, or what is closed when there may be room.
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

// connectionToCloseLocked is one of the connections that are worth least. Which one is left to chance, that
// of the order of a map: who opens many cannot have those of others closed. Nil: over each
// something is being answered.
func (l *limitedListener) connectionToCloseLocked() (victim *countedConn) {
	for c := range l.mu.open {
		if c.priority < useful && (victim == nil || c.priority < victim.priority) {
			victim = c
		}
	}
	return victim
}

// closeAll closes all connections, and lets none in any more.
func (l *limitedListener) closeAll() {
	l.mu.Lock()
	l.mu.ended = true
	open := slices.Collect(maps.Keys(l.mu.open))
	l.mu.Unlock()
	_ = l.Close() // Who waits for room is not among them.
	for _, c := range open {
		_ = c.Close()
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// priority is what a connection is worth when another one has to be closed.
type priority int

const (
	unaccepted priority = iota // the handler has not accepted its client
	idle                       // it has, and nothing is being answered
	useful                     // something is being answered
)

// countedConn is a connection of a limited listener, by whose lock worth is guarded.
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

// update changes what is known of the connection. There may be room after that.
func (c *countedConn) update(change func()) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	change()
	close(c.listener.mu.news)
	c.listener.mu.news = make(chan struct{})
}

// withConnection is http.Server.ConnContext: it has the connection as its peer.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return respond.WithPeer(ctx, c.(*countedConn)) // The listener has no others.
}

// recordAnswering notes that a request of a connection is being answered, until over is called. A
// handler that asks for credentials says what it thinks of the client; any other accepts all.
func recordAnswering(ctx context.Context) (done func()) {
	c := respond.PeerOf(ctx).(*countedConn) // By withConnection.
	c.Accepted()
	return func() { c.update(func() { c.priority = min(c.priority, idle) }) }
}
