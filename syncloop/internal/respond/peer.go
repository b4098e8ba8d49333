package respond

import "context"

// Peer is the client of a request. A handler that checks credentials reports the result to it.
type Peer interface {
	// Unknown is called if the client has sent no credentials yet, or no accepted ones.
	Unknown()
	// Accepted is called if the client is authenticated and authorized.
	Accepted()
}

// peerKey is the context key of the peer.
type peerKey struct{}

// WithPeer returns a context for a request of a peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns the peer of a request, or a peer that ignores all calls.
func PeerOf(ctx context.Context) Peer {
	if p, ok := ctx.Value(peerKey{}).(Peer); ok {
		return p
	}
	return noPeer{}
}

// noPeer is a peer that ignores all calls.
type noPeer struct{}

// Unknown implements Peer.
func (noPeer) Unknown() {}

// Accepted implements Peer.
func (noPeer) Accepted() {}
