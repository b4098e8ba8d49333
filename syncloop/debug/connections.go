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

// limited is a listener with a bound on the connections that are open at once. One more is
// accepted and waits until another is closed. One over which nothing is being answered is
// closed for it at once: or whoever leaves connections idle would keep all others out.
type limited struct {
	net.Listener
	most   int
	closed chan struct{}
	once   sync.Once
	mu     struct {
		sync.Mutex
		open  map[*counted]bool
		ended bool
		news  chan struct{} // closed when there may be room
	}
}

func newLimited(l net.Listener, most int) *limited {
	limited := &limited{Listener: l, most: most, closed: make(chan struct{})}
	limited.mu.open, limited.mu.news = map[*counted]bool{}, make(chan struct{})
	return limited
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	open := &counted{Conn: c, of: l}
	for {
		entered, victim, news := l.enter(open)
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

// enter counts a connection if there is room. If not it returns the one that is to be closed
// for it, or what is closed when there may be room.
func (l *limited) enter(c *counted) (entered bool, victim *counted, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ended {
		return false, nil, nil // The listener is closed.
	}
	if len(l.mu.open) < l.most {
		l.mu.open[c] = true
		return true, nil, nil
	}
	return false, l.victimLocked(), l.mu.news
}

// victimLocked is one of the connections that are worth least. Which one is left to chance, that
// of the order of a map: who opens many cannot have those of others closed. Nil: over each
// something is being answered.
func (l *limited) victimLocked() (victim *counted) {
	for c := range l.mu.open {
		if c.worth < useful && (victim == nil || c.worth < victim.worth) {
			victim = c
		}
	}
	return victim
}

// closeAll closes all connections, and lets none in any more.
func (l *limited) closeAll() {
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
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// worth is what a connection is worth when another one has to be closed.
type worth int

const (
	unaccepted worth = iota // the handler has not accepted its client
	idle                    // it has, and nothing is being answered
	useful                  // something is being answered
)

// counted is a connection of a limited listener, by whose lock worth is guarded.
type counted struct {
	net.Conn
	of    *limited
	worth worth
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.change(func() { delete(c.of.mu.open, c) })
	return c.Conn.Close()
}

// Unknown implements respond.Peer.
func (c *counted) Unknown() { c.change(func() { c.worth = unaccepted }) }

// Accepted implements respond.Peer.
func (c *counted) Accepted() { c.change(func() { c.worth = useful }) }

// change changes what is known of the connection. There may be room after that.
func (c *counted) change(what func()) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	what()
	close(c.of.mu.news)
	c.of.mu.news = make(chan struct{})
}

// inConnection is http.Server.ConnContext: it has the connection as its peer.
func inConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return respond.WithPeer(ctx, c.(*counted)) // The listener has no others.
}

// answering notes that a request of a connection is being answered, until over is called. A
// handler that asks for credentials says what it thinks of the client; any other accepts all.
func answering(ctx context.Context) (over func()) {
	c := respond.PeerOf(ctx).(*counted) // By inConnection.
	c.Accepted()
	return func() { c.change(func() { c.worth = min(c.worth, idle) }) }
}
