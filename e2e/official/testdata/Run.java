import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.BetaMessageAccumulator;
import com.anthropic.helpers.BetaToolRunner;
import com.anthropic.models.beta.messages.BetaMessage;
import com.anthropic.models.beta.messages.BetaRawMessageStreamEvent;
import com.anthropic.models.beta.messages.MessageCreateParams;
import com.anthropic.models.beta.messages.ToolRunnerCreateParams;
import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** Runs the official tool runner of Java at its defaults; the argument "streamed" streams. */
public class Run {
  @JsonClassDescription("Weather in a city.")
  static class GetWeather implements Supplier<String> {
    @JsonPropertyDescription("the city")
    public String city;

    @Override
    public String get() {
      if (!city.equals("Troms\u00f8")) {
        throw new IllegalArgumentException("no such city");
      }
      return "9 degrees";
    }
  }

  @JsonClassDescription("Adds two numbers.")
  static class Add implements Supplier<String> {
    @JsonPropertyDescription("the first")
    public int a;

    @JsonPropertyDescription("the second")
    public int b;

    @Override
    public String get() {
      return String.valueOf(a + b);
    }
  }

  public static void main(String[] args) {
    AnthropicClient client = // ANTHROPIC_BASE_URL is in the environment
        AnthropicOkHttpClient.builder().fromEnv().apiKey("none").maxRetries(0).build();
    MessageCreateParams params =
        MessageCreateParams.builder()
            .model("claude-sonnet-5-5")
            .maxTokens(100)
            .addTool(GetWeather.class)
            .addTool(Add.class)
            .addUserMessage("How warm is it, and how much is that?")
            .build();
    BetaToolRunner runner =
        client
            .beta()
            .messages()
            .toolRunner(ToolRunnerCreateParams.builder().initialMessageParams(params).build());
    BetaMessage last = null;
    if (args[0].equals("streamed")) {
      for (StreamResponse<BetaRawMessageStreamEvent> turn : runner.streaming()) {
        BetaMessageAccumulator message = BetaMessageAccumulator.create();
        try (turn) {
          turn.stream().forEach(message::accumulate);
        }
        last = message.message();
      }
    } else {
      for (BetaMessage turn : runner) {
        last = turn;
      }
    }
    StringBuilder text = new StringBuilder();
    last.content().forEach(block -> block.text().ifPresent(t -> text.append(t.text())));
    System.out.writeBytes(text.toString().getBytes(StandardCharsets.UTF_8));
    client.close();
  }
}
