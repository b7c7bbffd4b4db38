import Testing

@testable import Sink
