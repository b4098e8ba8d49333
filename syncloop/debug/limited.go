package debug

import (
	"net"
	"sync"
)

// limited is a listener with a bound on the connections that are open at once.
// Whoever comes when there is no room waits in the queue of the system.
type limited struct {
	net.Listener
	room   chan struct{} // has an element for each open connection
	closed chan struct{}
	once   sync.Once
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, room: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection of a limited listener.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
