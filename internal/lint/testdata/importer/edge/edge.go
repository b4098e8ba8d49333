// Package edge is the importer.
package edge

import _ "example.com/heavy"
