package apiserver

import (
	"context"
	"time"
)

// EventType says what an Event tells.
type EventType string

// The types of events.
const (
	// Added is an object that the stream has not shown before.
	Added EventType = "ADDED"
	// Modified is a newer state of an object.
	Modified EventType = "MODIFIED"
	// Deleted is the last state of an object that is gone, or that the feed does not
	// select any more.
	Deleted EventType = "DELETED"
	// Bookmark has a resource version only: everything up to it was shown.
	Bookmark EventType = "BOOKMARK"
)

// Event is one element of a Stream.
type Event[T any] struct {
	Type EventType
	// Object is the zero value in a Bookmark.
	Object T
	// ResourceVersion is the one of the object, or of the Bookmark. A stream that is
	// lost goes on from the last one.
	ResourceVersion string
	// InitialEventsEnd is set in the Bookmark after the last of the objects that
	// existed when the stream began; see WatchOptions.SendInitialEvents.
	InitialEventsEnd bool
}

// List is the state of a collection at one resource version.
type List[T any] struct {
	Items           []T
	ResourceVersion string
}

// WatchOptions select where a Stream begins.
type WatchOptions struct {
	// ResourceVersion is the last one seen: the stream shows what came after it. With
	// SendInitialEvents the state shown is not older than it; empty is the newest.
	ResourceVersion string
	// SendInitialEvents lets the stream begin with one Added for each object there is,
	// and a Bookmark with InitialEventsEnd.
	SendInitialEvents bool
	// Timeout is after how long the server ends the stream; zero is the server's choice.
	Timeout time.Duration
}

// Feed is a collection of objects of one kind that can be listed and watched: all
// pods of a node, or a single ConfigMap.
type Feed[T any] interface {
	// List returns the objects. An empty resourceVersion asks for the newest state, "0"
	// for any that the server has at hand, any other for one not older than it.
	List(ctx context.Context, resourceVersion string) (List[T], error)
	// Watch begins a Stream. A version that the server does not know any more is
	// refused with reason Expired, here or by the first Next. A server without
	// watch-list refuses SendInitialEvents with reason Invalid.
	Watch(ctx context.Context, opts WatchOptions) (Stream[T], error)
}

// Stream is a watch that is under way. One goroutine uses it.
type Stream[T any] interface {
	// Next waits for the next event. io.EOF is the regular end, by the server's or the
	// caller's Timeout; the error of an event of type ERROR is the refusal it carries.
	// After an error the stream is over. Next ends with ctx.
	Next(ctx context.Context) (Event[T], error)
	// Close ends the stream. It is called once, after the last Next has returned.
	Close()
}
