// Package poll decides, for a document that is fetched from a server again and again, what an
// answer means and when the next request is due. It reads no clock and makes no request.
//
// It is a package of its own so that it stays pure: package manifest, its one importer, reads files.
package poll
