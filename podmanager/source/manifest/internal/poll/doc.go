// Package poll classifies the responses for a polled document and schedules the next request. It
// reads no clock and makes no request.
//
// It is a separate package so that it stays pure: package manifest, its only importer, reads files.
package poll
