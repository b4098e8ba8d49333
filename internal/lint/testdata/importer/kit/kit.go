// Package kit is for tests.
package kit

import _ "example.com/testing/assert"
