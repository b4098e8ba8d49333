// Package inprocess connects HTTP clients to a handler in the same process, without a listener, TLS or connection.
//
// The response body is streamed through a pipe without a buffer, so that in a testing/synctest bubble virtual time
// advances while a client waits for a watch. If the client does not read the body, the handler waits until the
// client closes the body or the request's context is done.
package inprocess
