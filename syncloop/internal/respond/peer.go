package respond

import "context"

// Peer is told by a handler that asks for credentials what its client is worth to it.
type Peer interface {
	// Unknown says that the client has shown no credentials yet, or none that were accepted.
	Unknown()
	// Accepted says that it has, and may do what it asks for.
	Accepted()
}

// peerKey is where a context has its peer.
type peerKey struct{}

// WithPeer returns a context for a request of a peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf is the peer whose request this is, or one that is not told anything.
func PeerOf(ctx context.Context) Peer {
	if p, ok := ctx.Value(peerKey{}).(Peer); ok {
		return p
	}
	return noPeer{}
}

// noPeer is a peer of whom nobody keeps anything.
type noPeer struct{}

// Unknown implements Peer.
func (noPeer) Unknown() {}

// Accepted implements Peer.
func (noPeer) Accepted() {}
