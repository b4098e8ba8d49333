package apiserver

import (
	"context"
	"time"
)

// EventType is the type of an Event.
type EventType string

// The types of events.
const (
	// Added is an object that the stream has not shown before.
	Added EventType = "ADDED"
	// Modified is a newer state of an object.
	Modified EventType = "MODIFIED"
	// Deleted is the last state of an object that was deleted, or that the feed no longer selects.
	Deleted EventType = "DELETED"
	// Bookmark has only a resource version: the stream has shown everything up to that version.
	Bookmark EventType = "BOOKMARK"
)

// Event is one element of a Stream.
type Event[T any] struct {
	Type EventType
	// Object is the zero value in a Bookmark.
	Object T
	// ResourceVersion is the version of the object or Bookmark. A new stream can continue from the last one.
	ResourceVersion string
	// InitialEventsEnd is set in the Bookmark after the objects that existed when the stream began; see
	// WatchOptions.SendInitialEvents.
	InitialEventsEnd bool
}

// List is the state of a collection at one resource version.
type List[T any] struct {
	Items           []T
	ResourceVersion string
}

// WatchOptions choose where a Stream begins.
type WatchOptions struct {
	// ResourceVersion is the last version that the caller has seen: the stream shows later changes. With
	// SendInitialEvents, the initial state is at least as new as this version; empty means the newest.
	ResourceVersion string
	// SendInitialEvents makes the stream begin with one Added event per existing object, and a Bookmark with
	// InitialEventsEnd.
	SendInitialEvents bool
	// Timeout is how long the server keeps the stream open; zero is the server's choice.
	Timeout time.Duration
}

// Feed is a collection of objects of one kind that can be listed and watched, such as all pods of a node or a single
// ConfigMap.
type Feed[T any] interface {
	// List returns the objects. An empty resourceVersion requests the newest state, "0" any state that the server has
	// in memory, and another version a state at least as new.
	List(ctx context.Context, resourceVersion string) (List[T], error)
	// Watch begins a Stream. If the server has lost the history after a version, Watch or the first Next returns reason
	// Expired. A server without watch-list refuses SendInitialEvents with reason Invalid.
	Watch(ctx context.Context, opts WatchOptions) (Stream[T], error)
}

// Stream is an open watch. Only one goroutine uses it.
type Stream[T any] interface {
	// Next waits for the next event. It returns io.EOF when the server has closed the stream regularly, for example
	// after the Timeout. An ERROR event becomes an error with its Status. After an error the stream is over. Next
	// returns when ctx is done.
	Next(ctx context.Context) (Event[T], error)
	// Close closes the stream. Call it once, after the last Next has returned.
	Close()
}
