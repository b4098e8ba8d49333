// Package core brings in what belongs elsewhere.
package core

import (
	_ "fmt"

	_ "example.com/ground/api"
	_ "example.com/ground/heavy/part"
	_ "example.com/heavy/part"
	_ "example.com/heavyweight"
	_ "example.com/testing/assert"
	_ "module.test/edge"
)
