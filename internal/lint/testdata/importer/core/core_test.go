package core

import _ "example.com/testing/assert"
